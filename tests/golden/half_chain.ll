; half precision is rounded once, at the end of a chain

; == add_tanh_mul_to
; loop [p0, p1] kept 2 vector 1
;   buffer b0 f16
;   buffer b1 f16
;   buffer b2 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + 0 [0, 1]
;   access a2 b2 + 0 [p3, 1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = op Add %0 %1
;   %3 f32 = op Tanh %2
;   %4 f32 = op Mul %3 %0
;   %5 f32 = store a2 %4
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 2
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr i64, ptr %1, i64 2
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr i64, ptr %1, i64 3
  %18 = load i64, ptr %17, align 8
  %19 = mul i64 1, %6
  %20 = mul i64 %19, %8
  %21 = icmp sge i64 %20, 8388608
  %22 = ptrtoint ptr %14 to i64
  %23 = or i64 0, %22
  %24 = mul i64 %18, 4
  %25 = or i64 %23, %24
  %26 = and i64 %25, 63
  %27 = icmp eq i64 %26, 0
  %28 = and i1 %21, %27
  %29 = add i64 %8, 4095
  %30 = lshr i64 %29, 12
  %31 = urem i64 %2, %30
  %32 = udiv i64 %2, %30
  br label %task.head

done:                                             ; preds = %endif9, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %287, %tail.end ]
  %33 = phi i64 [ %32, %work ], [ %286, %tail.end ]
  %34 = phi i64 [ %31, %work ], [ %284, %tail.end ]
  %35 = icmp slt i64 %task1, %3
  br i1 %35, label %task, label %task.end

task:                                             ; preds = %task.head
  %36 = mul i64 %33, %16
  %37 = getelementptr i16, ptr %10, i64 %36
  %38 = mul i64 %33, %18
  %39 = getelementptr float, ptr %14, i64 %38
  %40 = mul i64 %34, 4096
  %41 = add i64 %40, 4096
  %42 = call i64 @llvm.smin.i64(i64 %41, i64 %8)
  %43 = sub i64 %42, %40
  %44 = and i64 %43, -16
  %45 = add i64 %40, %44
  br i1 %28, label %then, label %else

then:                                             ; preds = %task
  br label %vector.head

vector.head:                                      ; preds = %vector, %then
  %vector2 = phi i64 [ %40, %then ], [ %138, %vector ]
  %46 = icmp slt i64 %vector2, %45
  br i1 %46, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %47 = mul i64 %vector2, 1
  %48 = getelementptr i16, ptr %37, i64 %47
  %49 = load <8 x i16>, ptr %48, align 2
  %50 = bitcast <8 x i16> %49 to <8 x half>
  %51 = fpext <8 x half> %50 to <8 x float>
  %52 = mul i64 %vector2, 1
  %53 = getelementptr i16, ptr %37, i64 %52
  %54 = getelementptr i16, ptr %53, i64 8
  %55 = load <8 x i16>, ptr %54, align 2
  %56 = bitcast <8 x i16> %55 to <8 x half>
  %57 = fpext <8 x half> %56 to <8 x float>
  %58 = mul i64 %vector2, 1
  %59 = getelementptr i16, ptr %12, i64 %58
  %60 = load <8 x i16>, ptr %59, align 2
  %61 = bitcast <8 x i16> %60 to <8 x half>
  %62 = fpext <8 x half> %61 to <8 x float>
  %63 = mul i64 %vector2, 1
  %64 = getelementptr i16, ptr %12, i64 %63
  %65 = getelementptr i16, ptr %64, i64 8
  %66 = load <8 x i16>, ptr %65, align 2
  %67 = bitcast <8 x i16> %66 to <8 x half>
  %68 = fpext <8 x half> %67 to <8 x float>
  %69 = fadd <8 x float> %51, %62
  %70 = fadd <8 x float> %57, %68
  %71 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %69)
  %72 = fcmp ogt <8 x float> %71, <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>
  %73 = select <8 x i1> %72, <8 x float> <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>, <8 x float> %71
  %74 = fadd <8 x float> %73, %73
  %75 = fmul <8 x float> %74, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %76 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %75)
  %77 = call <8 x float> @llvm.fma.v8f32(<8 x float> %76, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %74)
  %78 = fmul <8 x float> %76, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %79 = fadd <8 x float> %77, %78
  %80 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %79, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %81 = call <8 x float> @llvm.fma.v8f32(<8 x float> %80, <8 x float> %79, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %82 = call <8 x float> @llvm.fma.v8f32(<8 x float> %81, <8 x float> %79, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %83 = call <8 x float> @llvm.fma.v8f32(<8 x float> %82, <8 x float> %79, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %84 = fmul <8 x float> %79, %79
  %85 = call <8 x float> @llvm.fma.v8f32(<8 x float> %84, <8 x float> %83, <8 x float> %78)
  %86 = fadd <8 x float> %77, %85
  %87 = bitcast <8 x float> %74 to <8 x i32>
  %88 = fptosi <8 x float> %76 to <8 x i32>
  %89 = add <8 x i32> %88, <i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126>
  %90 = shl <8 x i32> %89, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %91 = bitcast <8 x i32> %90 to <8 x float>
  %92 = fsub <8 x float> %91, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %93 = call <8 x float> @llvm.fma.v8f32(<8 x float> %91, <8 x float> %86, <8 x float> %92)
  %94 = fadd <8 x float> %93, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %95 = fdiv <8 x float> %93, %94
  %96 = fneg <8 x float> %93
  %97 = call <8 x float> @llvm.fma.v8f32(<8 x float> %96, <8 x float> %95, <8 x float> %93)
  %98 = fcmp olt <8 x float> %93, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %99 = select <8 x i1> %98, <8 x float> %97, <8 x float> %95
  %100 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %99, <8 x float> %69)
  %101 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %70)
  %102 = fcmp ogt <8 x float> %101, <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>
  %103 = select <8 x i1> %102, <8 x float> <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>, <8 x float> %101
  %104 = fadd <8 x float> %103, %103
  %105 = fmul <8 x float> %104, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %106 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %105)
  %107 = call <8 x float> @llvm.fma.v8f32(<8 x float> %106, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %104)
  %108 = fmul <8 x float> %106, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %109 = fadd <8 x float> %107, %108
  %110 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %109, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %111 = call <8 x float> @llvm.fma.v8f32(<8 x float> %110, <8 x float> %109, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %112 = call <8 x float> @llvm.fma.v8f32(<8 x float> %111, <8 x float> %109, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %113 = call <8 x float> @llvm.fma.v8f32(<8 x float> %112, <8 x float> %109, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %114 = fmul <8 x float> %109, %109
  %115 = call <8 x float> @llvm.fma.v8f32(<8 x float> %114, <8 x float> %113, <8 x float> %108)
  %116 = fadd <8 x float> %107, %115
  %117 = bitcast <8 x float> %104 to <8 x i32>
  %118 = fptosi <8 x float> %106 to <8 x i32>
  %119 = add <8 x i32> %118, <i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126>
  %120 = shl <8 x i32> %119, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %121 = bitcast <8 x i32> %120 to <8 x float>
  %122 = fsub <8 x float> %121, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %123 = call <8 x float> @llvm.fma.v8f32(<8 x float> %121, <8 x float> %116, <8 x float> %122)
  %124 = fadd <8 x float> %123, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %125 = fdiv <8 x float> %123, %124
  %126 = fneg <8 x float> %123
  %127 = call <8 x float> @llvm.fma.v8f32(<8 x float> %126, <8 x float> %125, <8 x float> %123)
  %128 = fcmp olt <8 x float> %123, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %129 = select <8 x i1> %128, <8 x float> %127, <8 x float> %125
  %130 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %129, <8 x float> %70)
  %131 = fmul <8 x float> %100, %51
  %132 = fmul <8 x float> %130, %57
  %133 = mul i64 %vector2, 1
  %134 = getelementptr float, ptr %39, i64 %133
  store <8 x float> %131, ptr %134, align 32, !nontemporal !0
  %135 = mul i64 %vector2, 1
  %136 = getelementptr float, ptr %39, i64 %135
  %137 = getelementptr float, ptr %136, i64 8
  store <8 x float> %132, ptr %137, align 32, !nontemporal !0
  %138 = add i64 %vector2, 16
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %endif

else:                                             ; preds = %task
  br label %vector.head3

vector.head3:                                     ; preds = %vector4, %else
  %vector5 = phi i64 [ %40, %else ], [ %231, %vector4 ]
  %139 = icmp slt i64 %vector5, %45
  br i1 %139, label %vector4, label %vector.end6

vector4:                                          ; preds = %vector.head3
  %140 = mul i64 %vector5, 1
  %141 = getelementptr i16, ptr %37, i64 %140
  %142 = load <8 x i16>, ptr %141, align 2
  %143 = bitcast <8 x i16> %142 to <8 x half>
  %144 = fpext <8 x half> %143 to <8 x float>
  %145 = mul i64 %vector5, 1
  %146 = getelementptr i16, ptr %37, i64 %145
  %147 = getelementptr i16, ptr %146, i64 8
  %148 = load <8 x i16>, ptr %147, align 2
  %149 = bitcast <8 x i16> %148 to <8 x half>
  %150 = fpext <8 x half> %149 to <8 x float>
  %151 = mul i64 %vector5, 1
  %152 = getelementptr i16, ptr %12, i64 %151
  %153 = load <8 x i16>, ptr %152, align 2
  %154 = bitcast <8 x i16> %153 to <8 x half>
  %155 = fpext <8 x half> %154 to <8 x float>
  %156 = mul i64 %vector5, 1
  %157 = getelementptr i16, ptr %12, i64 %156
  %158 = getelementptr i16, ptr %157, i64 8
  %159 = load <8 x i16>, ptr %158, align 2
  %160 = bitcast <8 x i16> %159 to <8 x half>
  %161 = fpext <8 x half> %160 to <8 x float>
  %162 = fadd <8 x float> %144, %155
  %163 = fadd <8 x float> %150, %161
  %164 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %162)
  %165 = fcmp ogt <8 x float> %164, <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>
  %166 = select <8 x i1> %165, <8 x float> <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>, <8 x float> %164
  %167 = fadd <8 x float> %166, %166
  %168 = fmul <8 x float> %167, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %169 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %168)
  %170 = call <8 x float> @llvm.fma.v8f32(<8 x float> %169, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %167)
  %171 = fmul <8 x float> %169, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %172 = fadd <8 x float> %170, %171
  %173 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %172, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %174 = call <8 x float> @llvm.fma.v8f32(<8 x float> %173, <8 x float> %172, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %175 = call <8 x float> @llvm.fma.v8f32(<8 x float> %174, <8 x float> %172, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %176 = call <8 x float> @llvm.fma.v8f32(<8 x float> %175, <8 x float> %172, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %177 = fmul <8 x float> %172, %172
  %178 = call <8 x float> @llvm.fma.v8f32(<8 x float> %177, <8 x float> %176, <8 x float> %171)
  %179 = fadd <8 x float> %170, %178
  %180 = bitcast <8 x float> %167 to <8 x i32>
  %181 = fptosi <8 x float> %169 to <8 x i32>
  %182 = add <8 x i32> %181, <i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126>
  %183 = shl <8 x i32> %182, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %184 = bitcast <8 x i32> %183 to <8 x float>
  %185 = fsub <8 x float> %184, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %186 = call <8 x float> @llvm.fma.v8f32(<8 x float> %184, <8 x float> %179, <8 x float> %185)
  %187 = fadd <8 x float> %186, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %188 = fdiv <8 x float> %186, %187
  %189 = fneg <8 x float> %186
  %190 = call <8 x float> @llvm.fma.v8f32(<8 x float> %189, <8 x float> %188, <8 x float> %186)
  %191 = fcmp olt <8 x float> %186, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %192 = select <8 x i1> %191, <8 x float> %190, <8 x float> %188
  %193 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %192, <8 x float> %162)
  %194 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %163)
  %195 = fcmp ogt <8 x float> %194, <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>
  %196 = select <8 x i1> %195, <8 x float> <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>, <8 x float> %194
  %197 = fadd <8 x float> %196, %196
  %198 = fmul <8 x float> %197, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %199 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %198)
  %200 = call <8 x float> @llvm.fma.v8f32(<8 x float> %199, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %197)
  %201 = fmul <8 x float> %199, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %202 = fadd <8 x float> %200, %201
  %203 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %202, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %204 = call <8 x float> @llvm.fma.v8f32(<8 x float> %203, <8 x float> %202, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %205 = call <8 x float> @llvm.fma.v8f32(<8 x float> %204, <8 x float> %202, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %206 = call <8 x float> @llvm.fma.v8f32(<8 x float> %205, <8 x float> %202, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %207 = fmul <8 x float> %202, %202
  %208 = call <8 x float> @llvm.fma.v8f32(<8 x float> %207, <8 x float> %206, <8 x float> %201)
  %209 = fadd <8 x float> %200, %208
  %210 = bitcast <8 x float> %197 to <8 x i32>
  %211 = fptosi <8 x float> %199 to <8 x i32>
  %212 = add <8 x i32> %211, <i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126>
  %213 = shl <8 x i32> %212, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %214 = bitcast <8 x i32> %213 to <8 x float>
  %215 = fsub <8 x float> %214, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %216 = call <8 x float> @llvm.fma.v8f32(<8 x float> %214, <8 x float> %209, <8 x float> %215)
  %217 = fadd <8 x float> %216, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %218 = fdiv <8 x float> %216, %217
  %219 = fneg <8 x float> %216
  %220 = call <8 x float> @llvm.fma.v8f32(<8 x float> %219, <8 x float> %218, <8 x float> %216)
  %221 = fcmp olt <8 x float> %216, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %222 = select <8 x i1> %221, <8 x float> %220, <8 x float> %218
  %223 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %222, <8 x float> %163)
  %224 = fmul <8 x float> %193, %144
  %225 = fmul <8 x float> %223, %150
  %226 = mul i64 %vector5, 1
  %227 = getelementptr float, ptr %39, i64 %226
  store <8 x float> %224, ptr %227, align 4
  %228 = mul i64 %vector5, 1
  %229 = getelementptr float, ptr %39, i64 %228
  %230 = getelementptr float, ptr %229, i64 8
  store <8 x float> %225, ptr %230, align 4
  %231 = add i64 %vector5, 16
  br label %vector.head3

vector.end6:                                      ; preds = %vector.head3
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end6
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail7 = phi i64 [ %45, %endif ], [ %281, %tail ]
  %232 = icmp slt i64 %tail7, %42
  br i1 %232, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %233 = sub i64 %42, %tail7
  %234 = call i64 @llvm.umin.i64(i64 %233, i64 8)
  %235 = trunc i64 %234 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %235, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %236 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %237 = mul i64 %tail7, 1
  %238 = getelementptr i16, ptr %37, i64 %237
  %239 = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr %238, i32 2, <8 x i1> %236, <8 x i16> zeroinitializer)
  %240 = bitcast <8 x i16> %239 to <8 x half>
  %241 = fpext <8 x half> %240 to <8 x float>
  %242 = mul i64 %tail7, 1
  %243 = getelementptr i16, ptr %12, i64 %242
  %244 = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr %243, i32 2, <8 x i1> %236, <8 x i16> zeroinitializer)
  %245 = bitcast <8 x i16> %244 to <8 x half>
  %246 = fpext <8 x half> %245 to <8 x float>
  %247 = fadd <8 x float> %241, %246
  %248 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %247)
  %249 = fcmp ogt <8 x float> %248, <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>
  %250 = select <8 x i1> %249, <8 x float> <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>, <8 x float> %248
  %251 = fadd <8 x float> %250, %250
  %252 = fmul <8 x float> %251, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %253 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %252)
  %254 = call <8 x float> @llvm.fma.v8f32(<8 x float> %253, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %251)
  %255 = fmul <8 x float> %253, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %256 = fadd <8 x float> %254, %255
  %257 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %256, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %258 = call <8 x float> @llvm.fma.v8f32(<8 x float> %257, <8 x float> %256, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %259 = call <8 x float> @llvm.fma.v8f32(<8 x float> %258, <8 x float> %256, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %260 = call <8 x float> @llvm.fma.v8f32(<8 x float> %259, <8 x float> %256, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %261 = fmul <8 x float> %256, %256
  %262 = call <8 x float> @llvm.fma.v8f32(<8 x float> %261, <8 x float> %260, <8 x float> %255)
  %263 = fadd <8 x float> %254, %262
  %264 = bitcast <8 x float> %251 to <8 x i32>
  %265 = fptosi <8 x float> %253 to <8 x i32>
  %266 = add <8 x i32> %265, <i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126>
  %267 = shl <8 x i32> %266, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %268 = bitcast <8 x i32> %267 to <8 x float>
  %269 = fsub <8 x float> %268, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %270 = call <8 x float> @llvm.fma.v8f32(<8 x float> %268, <8 x float> %263, <8 x float> %269)
  %271 = fadd <8 x float> %270, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %272 = fdiv <8 x float> %270, %271
  %273 = fneg <8 x float> %270
  %274 = call <8 x float> @llvm.fma.v8f32(<8 x float> %273, <8 x float> %272, <8 x float> %270)
  %275 = fcmp olt <8 x float> %270, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %276 = select <8 x i1> %275, <8 x float> %274, <8 x float> %272
  %277 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %276, <8 x float> %247)
  %278 = fmul <8 x float> %277, %241
  %279 = mul i64 %tail7, 1
  %280 = getelementptr float, ptr %39, i64 %279
  call void @llvm.masked.store.v8f32.p0(<8 x float> %278, ptr %280, i32 4, <8 x i1> %236)
  %281 = add i64 %tail7, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %282 = add i64 %34, 1
  %283 = icmp eq i64 %282, %30
  %284 = select i1 %283, i64 0, i64 %282
  %285 = zext i1 %283 to i64
  %286 = add i64 %33, %285
  %287 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %28, label %then8, label %endif9

then8:                                            ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif9

endif9:                                           ; preds = %task.end, %then8
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.fabs.v8f32(<8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.roundeven.v8f32(<8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.copysign.v8f32(<8 x float>, <8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x i16> @llvm.masked.load.v8i16.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x i16>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
