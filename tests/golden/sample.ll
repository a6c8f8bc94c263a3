; a float argument is a word of the call

; == div_amax_sub_exp_sum_reciprocal_mul
; loop [p0, p1] kept 1 vector 1
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + 0 [p3, 1]
;   %0 f32 = load a0
;   %1 f32 = param float p4
;   %2 f32 = op Div %0 %1
;   %3 f32 = reduce max %2
;   %4 f32 = op Sub %2 %3
;   %5 f32 = op Exp %4
;   %6 f32 = reduce sum %5
;   %7 f32 = op Reciprocal %6
;   %8 f32 = op Mul %5 %7
;   %9 f32 = store a1 %8
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = alloca [16384 x i8], align 64
  %5 = icmp slt i64 %2, %3
  br i1 %5, label %work, label %done

work:                                             ; preds = %entry
  %6 = getelementptr i64, ptr %1, i64 0
  %7 = load i64, ptr %6, align 8
  %8 = getelementptr i64, ptr %1, i64 1
  %9 = load i64, ptr %8, align 8
  %10 = getelementptr ptr, ptr %0, i64 0
  %11 = load ptr, ptr %10, align 8
  %12 = getelementptr ptr, ptr %0, i64 1
  %13 = load ptr, ptr %12, align 8
  %14 = getelementptr i64, ptr %1, i64 2
  %15 = load i64, ptr %14, align 8
  %16 = getelementptr i64, ptr %1, i64 3
  %17 = load i64, ptr %16, align 8
  %18 = getelementptr i64, ptr %1, i64 4
  %19 = load i64, ptr %18, align 8
  %20 = bitcast i64 %19 to double
  %21 = fptrunc double %20 to float
  %22 = mul i64 1, %9
  %23 = call i64 @llvm.smax.i64(i64 %22, i64 1)
  %24 = udiv i64 1024, %23
  %25 = call i64 @llvm.smax.i64(i64 %24, i64 1)
  %26 = icmp sgt i64 %22, 65536
  %27 = select i1 %26, i64 0, i64 %25
  %28 = mul i64 %27, %15
  %29 = mul i64 %27, %17
  %30 = mul i64 %22, %7
  %31 = icmp sge i64 %30, 8388608
  %32 = ptrtoint ptr %13 to i64
  %33 = or i64 0, %32
  %34 = mul i64 %17, 4
  %35 = or i64 %33, %34
  %36 = and i64 %35, 63
  %37 = icmp eq i64 %36, 0
  %38 = and i1 %31, %37
  %39 = icmp sle i64 %22, 4096
  %40 = and i1 %38, %39
  br label %task.head

done:                                             ; preds = %endif54, %entry
  ret void

task.head:                                        ; preds = %tail.end52, %work
  %task1 = phi i64 [ %2, %work ], [ %370, %tail.end52 ]
  %41 = phi i64 [ %2, %work ], [ %369, %tail.end52 ]
  %42 = icmp slt i64 %task1, %3
  br i1 %42, label %task, label %task.end

task:                                             ; preds = %task.head
  %43 = mul i64 %41, %15
  %44 = getelementptr float, ptr %11, i64 %43
  %45 = mul i64 %41, %17
  %46 = getelementptr float, ptr %13, i64 %45
  %47 = select i1 %40, ptr %4, ptr %46
  %48 = sub i64 %9, 0
  %49 = and i64 %48, -32
  %50 = add i64 0, %49
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ 0, %task ], [ %95, %vector ]
  %51 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %55, %vector ]
  %52 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %56, %vector ]
  %53 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %57, %vector ]
  %54 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %58, %vector ]
  %55 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %82, %vector ]
  %56 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %86, %vector ]
  %57 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %90, %vector ]
  %58 = phi <8 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %task ], [ %94, %vector ]
  %59 = icmp slt i64 %vector2, %50
  br i1 %59, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %60 = mul i64 %vector2, 1
  %61 = getelementptr float, ptr %44, i64 %60
  %62 = load <8 x float>, ptr %61, align 4
  %63 = mul i64 %vector2, 1
  %64 = getelementptr float, ptr %44, i64 %63
  %65 = getelementptr float, ptr %64, i64 8
  %66 = load <8 x float>, ptr %65, align 4
  %67 = mul i64 %vector2, 1
  %68 = getelementptr float, ptr %44, i64 %67
  %69 = getelementptr float, ptr %68, i64 16
  %70 = load <8 x float>, ptr %69, align 4
  %71 = mul i64 %vector2, 1
  %72 = getelementptr float, ptr %44, i64 %71
  %73 = getelementptr float, ptr %72, i64 24
  %74 = load <8 x float>, ptr %73, align 4
  %.splatinsert = insertelement <8 x float> poison, float %21, i64 0
  %.splat = shufflevector <8 x float> %.splatinsert, <8 x float> poison, <8 x i32> zeroinitializer
  %75 = fdiv <8 x float> %62, %.splat
  %.splatinsert3 = insertelement <8 x float> poison, float %21, i64 0
  %.splat4 = shufflevector <8 x float> %.splatinsert3, <8 x float> poison, <8 x i32> zeroinitializer
  %76 = fdiv <8 x float> %66, %.splat4
  %.splatinsert5 = insertelement <8 x float> poison, float %21, i64 0
  %.splat6 = shufflevector <8 x float> %.splatinsert5, <8 x float> poison, <8 x i32> zeroinitializer
  %77 = fdiv <8 x float> %70, %.splat6
  %.splatinsert7 = insertelement <8 x float> poison, float %21, i64 0
  %.splat8 = shufflevector <8 x float> %.splatinsert7, <8 x float> poison, <8 x i32> zeroinitializer
  %78 = fdiv <8 x float> %74, %.splat8
  %79 = fcmp ogt <8 x float> %75, %51
  %80 = select <8 x i1> %79, <8 x float> %75, <8 x float> %51
  %81 = fcmp uno <8 x float> %75, %75
  %82 = select <8 x i1> %81, <8 x float> %75, <8 x float> %80
  %83 = fcmp ogt <8 x float> %76, %52
  %84 = select <8 x i1> %83, <8 x float> %76, <8 x float> %52
  %85 = fcmp uno <8 x float> %76, %76
  %86 = select <8 x i1> %85, <8 x float> %76, <8 x float> %84
  %87 = fcmp ogt <8 x float> %77, %53
  %88 = select <8 x i1> %87, <8 x float> %77, <8 x float> %53
  %89 = fcmp uno <8 x float> %77, %77
  %90 = select <8 x i1> %89, <8 x float> %77, <8 x float> %88
  %91 = fcmp ogt <8 x float> %78, %54
  %92 = select <8 x i1> %91, <8 x float> %78, <8 x float> %54
  %93 = fcmp uno <8 x float> %78, %78
  %94 = select <8 x i1> %93, <8 x float> %78, <8 x float> %92
  %95 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail9 = phi i64 [ %50, %vector.end ], [ %118, %tail ]
  %96 = phi <8 x float> [ %51, %vector.end ], [ %97, %tail ]
  %97 = phi <8 x float> [ %52, %vector.end ], [ %98, %tail ]
  %98 = phi <8 x float> [ %53, %vector.end ], [ %99, %tail ]
  %99 = phi <8 x float> [ %54, %vector.end ], [ %100, %tail ]
  %100 = phi <8 x float> [ %55, %vector.end ], [ %101, %tail ]
  %101 = phi <8 x float> [ %56, %vector.end ], [ %102, %tail ]
  %102 = phi <8 x float> [ %57, %vector.end ], [ %103, %tail ]
  %103 = phi <8 x float> [ %58, %vector.end ], [ %117, %tail ]
  %104 = icmp slt i64 %tail9, %9
  br i1 %104, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %105 = sub i64 %9, %tail9
  %106 = call i64 @llvm.umin.i64(i64 %105, i64 8)
  %107 = trunc i64 %106 to i32
  %.splatinsert10 = insertelement <8 x i32> poison, i32 %107, i64 0
  %.splat11 = shufflevector <8 x i32> %.splatinsert10, <8 x i32> poison, <8 x i32> zeroinitializer
  %108 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat11
  %109 = mul i64 %tail9, 1
  %110 = getelementptr float, ptr %44, i64 %109
  %111 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %110, i32 4, <8 x i1> %108, <8 x float> zeroinitializer)
  %.splatinsert12 = insertelement <8 x float> poison, float %21, i64 0
  %.splat13 = shufflevector <8 x float> %.splatinsert12, <8 x float> poison, <8 x i32> zeroinitializer
  %112 = fdiv <8 x float> %111, %.splat13
  %113 = fcmp ogt <8 x float> %112, %96
  %114 = select <8 x i1> %113, <8 x float> %112, <8 x float> %96
  %115 = fcmp uno <8 x float> %112, %112
  %116 = select <8 x i1> %115, <8 x float> %112, <8 x float> %114
  %117 = select <8 x i1> %108, <8 x float> %116, <8 x float> %96
  %118 = add i64 %tail9, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %119 = fcmp ogt <8 x float> %96, %100
  %120 = select <8 x i1> %119, <8 x float> %96, <8 x float> %100
  %121 = fcmp uno <8 x float> %96, %96
  %122 = select <8 x i1> %121, <8 x float> %96, <8 x float> %120
  %123 = fcmp ogt <8 x float> %97, %101
  %124 = select <8 x i1> %123, <8 x float> %97, <8 x float> %101
  %125 = fcmp uno <8 x float> %97, %97
  %126 = select <8 x i1> %125, <8 x float> %97, <8 x float> %124
  %127 = fcmp ogt <8 x float> %98, %102
  %128 = select <8 x i1> %127, <8 x float> %98, <8 x float> %102
  %129 = fcmp uno <8 x float> %98, %98
  %130 = select <8 x i1> %129, <8 x float> %98, <8 x float> %128
  %131 = fcmp ogt <8 x float> %99, %103
  %132 = select <8 x i1> %131, <8 x float> %99, <8 x float> %103
  %133 = fcmp uno <8 x float> %99, %99
  %134 = select <8 x i1> %133, <8 x float> %99, <8 x float> %132
  %135 = fcmp ogt <8 x float> %122, %130
  %136 = select <8 x i1> %135, <8 x float> %122, <8 x float> %130
  %137 = fcmp uno <8 x float> %122, %122
  %138 = select <8 x i1> %137, <8 x float> %122, <8 x float> %136
  %139 = fcmp ogt <8 x float> %126, %134
  %140 = select <8 x i1> %139, <8 x float> %126, <8 x float> %134
  %141 = fcmp uno <8 x float> %126, %126
  %142 = select <8 x i1> %141, <8 x float> %126, <8 x float> %140
  %143 = fcmp ogt <8 x float> %138, %142
  %144 = select <8 x i1> %143, <8 x float> %138, <8 x float> %142
  %145 = fcmp uno <8 x float> %138, %138
  %146 = select <8 x i1> %145, <8 x float> %138, <8 x float> %144
  %147 = shufflevector <8 x float> %146, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %148 = shufflevector <8 x float> %146, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %149 = fcmp ogt <4 x float> %148, %147
  %150 = select <4 x i1> %149, <4 x float> %148, <4 x float> %147
  %151 = fcmp uno <4 x float> %148, %148
  %152 = select <4 x i1> %151, <4 x float> %148, <4 x float> %150
  %153 = shufflevector <4 x float> %152, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %154 = shufflevector <4 x float> %152, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %155 = fcmp ogt <2 x float> %154, %153
  %156 = select <2 x i1> %155, <2 x float> %154, <2 x float> %153
  %157 = fcmp uno <2 x float> %154, %154
  %158 = select <2 x i1> %157, <2 x float> %154, <2 x float> %156
  %159 = extractelement <2 x float> %158, i64 1
  %160 = extractelement <2 x float> %158, i64 0
  %161 = fcmp ogt float %160, %159
  %162 = select i1 %161, float %160, float %159
  %163 = fcmp uno float %160, %160
  %164 = select i1 %163, float %160, float %162
  br label %block.head

block.head:                                       ; preds = %tail.end36, %tail.end
  %block14 = phi i64 [ 0, %tail.end ], [ %328, %tail.end36 ]
  %165 = phi float [ 0.000000e+00, %tail.end ], [ %321, %tail.end36 ]
  %166 = phi float [ 0.000000e+00, %tail.end ], [ %327, %tail.end36 ]
  %167 = icmp slt i64 %block14, %9
  br i1 %167, label %block, label %block.end

block:                                            ; preds = %block.head
  %168 = add i64 %block14, 8192
  %169 = call i64 @llvm.smin.i64(i64 %168, i64 %9)
  %170 = sub i64 %169, %block14
  %171 = and i64 %170, -16
  %172 = add i64 %block14, %171
  br label %vector.head15

vector.head15:                                    ; preds = %vector16, %block
  %vector17 = phi i64 [ %block14, %block ], [ %253, %vector16 ]
  %173 = phi <8 x float> [ zeroinitializer, %block ], [ %175, %vector16 ]
  %174 = phi <8 x float> [ zeroinitializer, %block ], [ %176, %vector16 ]
  %175 = phi <8 x float> [ zeroinitializer, %block ], [ %177, %vector16 ]
  %176 = phi <8 x float> [ zeroinitializer, %block ], [ %178, %vector16 ]
  %177 = phi <8 x float> [ zeroinitializer, %block ], [ %179, %vector16 ]
  %178 = phi <8 x float> [ zeroinitializer, %block ], [ %180, %vector16 ]
  %179 = phi <8 x float> [ zeroinitializer, %block ], [ %243, %vector16 ]
  %180 = phi <8 x float> [ zeroinitializer, %block ], [ %244, %vector16 ]
  %181 = icmp slt i64 %vector17, %172
  br i1 %181, label %vector16, label %vector.end26

vector16:                                         ; preds = %vector.head15
  %182 = mul i64 %vector17, 1
  %183 = getelementptr float, ptr %44, i64 %182
  %184 = load <8 x float>, ptr %183, align 4
  %185 = mul i64 %vector17, 1
  %186 = getelementptr float, ptr %44, i64 %185
  %187 = getelementptr float, ptr %186, i64 8
  %188 = load <8 x float>, ptr %187, align 4
  %.splatinsert18 = insertelement <8 x float> poison, float %21, i64 0
  %.splat19 = shufflevector <8 x float> %.splatinsert18, <8 x float> poison, <8 x i32> zeroinitializer
  %189 = fdiv <8 x float> %184, %.splat19
  %.splatinsert20 = insertelement <8 x float> poison, float %21, i64 0
  %.splat21 = shufflevector <8 x float> %.splatinsert20, <8 x float> poison, <8 x i32> zeroinitializer
  %190 = fdiv <8 x float> %188, %.splat21
  %.splatinsert22 = insertelement <8 x float> poison, float %164, i64 0
  %.splat23 = shufflevector <8 x float> %.splatinsert22, <8 x float> poison, <8 x i32> zeroinitializer
  %191 = fsub <8 x float> %189, %.splat23
  %.splatinsert24 = insertelement <8 x float> poison, float %164, i64 0
  %.splat25 = shufflevector <8 x float> %.splatinsert24, <8 x float> poison, <8 x i32> zeroinitializer
  %192 = fsub <8 x float> %190, %.splat25
  %193 = fcmp ogt <8 x float> %191, <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>
  %194 = select <8 x i1> %193, <8 x float> <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>, <8 x float> %191
  %195 = fcmp olt <8 x float> %194, <float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02>
  %196 = select <8 x i1> %195, <8 x float> <float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02>, <8 x float> %194
  %197 = fmul <8 x float> %196, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %198 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %197)
  %199 = call <8 x float> @llvm.fma.v8f32(<8 x float> %198, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %196)
  %200 = call <8 x float> @llvm.fma.v8f32(<8 x float> %198, <8 x float> <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>, <8 x float> %199)
  %201 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %200, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %202 = call <8 x float> @llvm.fma.v8f32(<8 x float> %201, <8 x float> %200, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %203 = call <8 x float> @llvm.fma.v8f32(<8 x float> %202, <8 x float> %200, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %204 = call <8 x float> @llvm.fma.v8f32(<8 x float> %203, <8 x float> %200, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %205 = call <8 x float> @llvm.fma.v8f32(<8 x float> %204, <8 x float> %200, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %206 = call <8 x float> @llvm.fma.v8f32(<8 x float> %205, <8 x float> %200, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %207 = fptosi <8 x float> %198 to <8 x i32>
  %208 = ashr <8 x i32> %207, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %209 = sub <8 x i32> %207, %208
  %210 = add <8 x i32> %209, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %211 = shl <8 x i32> %210, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %212 = bitcast <8 x i32> %211 to <8 x float>
  %213 = add <8 x i32> %208, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %214 = shl <8 x i32> %213, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %215 = bitcast <8 x i32> %214 to <8 x float>
  %216 = fmul <8 x float> %206, %215
  %217 = fmul <8 x float> %216, %212
  %218 = fcmp ogt <8 x float> %192, <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>
  %219 = select <8 x i1> %218, <8 x float> <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>, <8 x float> %192
  %220 = fcmp olt <8 x float> %219, <float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02>
  %221 = select <8 x i1> %220, <8 x float> <float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02>, <8 x float> %219
  %222 = fmul <8 x float> %221, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %223 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %222)
  %224 = call <8 x float> @llvm.fma.v8f32(<8 x float> %223, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %221)
  %225 = call <8 x float> @llvm.fma.v8f32(<8 x float> %223, <8 x float> <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>, <8 x float> %224)
  %226 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %225, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %227 = call <8 x float> @llvm.fma.v8f32(<8 x float> %226, <8 x float> %225, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %228 = call <8 x float> @llvm.fma.v8f32(<8 x float> %227, <8 x float> %225, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %229 = call <8 x float> @llvm.fma.v8f32(<8 x float> %228, <8 x float> %225, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %230 = call <8 x float> @llvm.fma.v8f32(<8 x float> %229, <8 x float> %225, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %231 = call <8 x float> @llvm.fma.v8f32(<8 x float> %230, <8 x float> %225, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %232 = fptosi <8 x float> %223 to <8 x i32>
  %233 = ashr <8 x i32> %232, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %234 = sub <8 x i32> %232, %233
  %235 = add <8 x i32> %234, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %236 = shl <8 x i32> %235, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %237 = bitcast <8 x i32> %236 to <8 x float>
  %238 = add <8 x i32> %233, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %239 = shl <8 x i32> %238, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %240 = bitcast <8 x i32> %239 to <8 x float>
  %241 = fmul <8 x float> %231, %240
  %242 = fmul <8 x float> %241, %237
  %243 = fadd <8 x float> %217, %173
  %244 = fadd <8 x float> %242, %174
  %245 = mul i64 %vector17, 1
  %246 = getelementptr float, ptr %44, i64 %245
  %247 = getelementptr float, ptr %246, i64 %28
  call void @llvm.prefetch.p0(ptr %247, i32 0, i32 3, i32 1)
  %248 = mul i64 %vector17, 1
  %249 = getelementptr float, ptr %47, i64 %248
  store <8 x float> %217, ptr %249, align 4
  %250 = mul i64 %vector17, 1
  %251 = getelementptr float, ptr %47, i64 %250
  %252 = getelementptr float, ptr %251, i64 8
  store <8 x float> %242, ptr %252, align 4
  %253 = add i64 %vector17, 16
  br label %vector.head15

vector.end26:                                     ; preds = %vector.head15
  br label %tail.head27

tail.head27:                                      ; preds = %tail28, %vector.end26
  %tail29 = phi i64 [ %172, %vector.end26 ], [ %304, %tail28 ]
  %254 = phi <8 x float> [ %173, %vector.end26 ], [ %255, %tail28 ]
  %255 = phi <8 x float> [ %174, %vector.end26 ], [ %256, %tail28 ]
  %256 = phi <8 x float> [ %175, %vector.end26 ], [ %257, %tail28 ]
  %257 = phi <8 x float> [ %176, %vector.end26 ], [ %258, %tail28 ]
  %258 = phi <8 x float> [ %177, %vector.end26 ], [ %259, %tail28 ]
  %259 = phi <8 x float> [ %178, %vector.end26 ], [ %260, %tail28 ]
  %260 = phi <8 x float> [ %179, %vector.end26 ], [ %261, %tail28 ]
  %261 = phi <8 x float> [ %180, %vector.end26 ], [ %298, %tail28 ]
  %262 = icmp slt i64 %tail29, %169
  br i1 %262, label %tail28, label %tail.end36

tail28:                                           ; preds = %tail.head27
  %263 = sub i64 %169, %tail29
  %264 = call i64 @llvm.umin.i64(i64 %263, i64 8)
  %265 = trunc i64 %264 to i32
  %.splatinsert30 = insertelement <8 x i32> poison, i32 %265, i64 0
  %.splat31 = shufflevector <8 x i32> %.splatinsert30, <8 x i32> poison, <8 x i32> zeroinitializer
  %266 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat31
  %267 = mul i64 %tail29, 1
  %268 = getelementptr float, ptr %44, i64 %267
  %269 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %268, i32 4, <8 x i1> %266, <8 x float> zeroinitializer)
  %.splatinsert32 = insertelement <8 x float> poison, float %21, i64 0
  %.splat33 = shufflevector <8 x float> %.splatinsert32, <8 x float> poison, <8 x i32> zeroinitializer
  %270 = fdiv <8 x float> %269, %.splat33
  %.splatinsert34 = insertelement <8 x float> poison, float %164, i64 0
  %.splat35 = shufflevector <8 x float> %.splatinsert34, <8 x float> poison, <8 x i32> zeroinitializer
  %271 = fsub <8 x float> %270, %.splat35
  %272 = fcmp ogt <8 x float> %271, <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>
  %273 = select <8 x i1> %272, <8 x float> <float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01, float 9.000000e+01>, <8 x float> %271
  %274 = fcmp olt <8 x float> %273, <float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02>
  %275 = select <8 x i1> %274, <8 x float> <float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02, float -1.050000e+02>, <8 x float> %273
  %276 = fmul <8 x float> %275, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %277 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %276)
  %278 = call <8 x float> @llvm.fma.v8f32(<8 x float> %277, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %275)
  %279 = call <8 x float> @llvm.fma.v8f32(<8 x float> %277, <8 x float> <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>, <8 x float> %278)
  %280 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %279, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %281 = call <8 x float> @llvm.fma.v8f32(<8 x float> %280, <8 x float> %279, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %282 = call <8 x float> @llvm.fma.v8f32(<8 x float> %281, <8 x float> %279, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %283 = call <8 x float> @llvm.fma.v8f32(<8 x float> %282, <8 x float> %279, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %284 = call <8 x float> @llvm.fma.v8f32(<8 x float> %283, <8 x float> %279, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %285 = call <8 x float> @llvm.fma.v8f32(<8 x float> %284, <8 x float> %279, <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>)
  %286 = fptosi <8 x float> %277 to <8 x i32>
  %287 = ashr <8 x i32> %286, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %288 = sub <8 x i32> %286, %287
  %289 = add <8 x i32> %288, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %290 = shl <8 x i32> %289, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %291 = bitcast <8 x i32> %290 to <8 x float>
  %292 = add <8 x i32> %287, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %293 = shl <8 x i32> %292, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %294 = bitcast <8 x i32> %293 to <8 x float>
  %295 = fmul <8 x float> %285, %294
  %296 = fmul <8 x float> %295, %291
  %297 = fadd <8 x float> %296, %254
  %298 = select <8 x i1> %266, <8 x float> %297, <8 x float> %254
  %299 = mul i64 %tail29, 1
  %300 = getelementptr float, ptr %44, i64 %299
  %301 = getelementptr float, ptr %300, i64 %28
  call void @llvm.prefetch.p0(ptr %301, i32 0, i32 3, i32 1)
  %302 = mul i64 %tail29, 1
  %303 = getelementptr float, ptr %47, i64 %302
  call void @llvm.masked.store.v8f32.p0(<8 x float> %296, ptr %303, i32 4, <8 x i1> %266)
  %304 = add i64 %tail29, 8
  br label %tail.head27

tail.end36:                                       ; preds = %tail.head27
  %305 = fadd <8 x float> %254, %258
  %306 = fadd <8 x float> %255, %259
  %307 = fadd <8 x float> %256, %260
  %308 = fadd <8 x float> %257, %261
  %309 = fadd <8 x float> %305, %307
  %310 = fadd <8 x float> %306, %308
  %311 = fadd <8 x float> %309, %310
  %312 = shufflevector <8 x float> %311, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %313 = shufflevector <8 x float> %311, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %314 = fadd <4 x float> %313, %312
  %315 = shufflevector <4 x float> %314, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %316 = shufflevector <4 x float> %314, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %317 = fadd <2 x float> %316, %315
  %318 = extractelement <2 x float> %317, i64 1
  %319 = extractelement <2 x float> %317, i64 0
  %320 = fadd float %319, %318
  %321 = fadd float %165, %320
  %322 = fsub float %321, %165
  %323 = fsub float %320, %322
  %324 = fsub float %321, %322
  %325 = fsub float %165, %324
  %326 = fadd float %325, %323
  %327 = fadd float %166, %326
  %328 = add i64 %block14, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %329 = fadd float %165, %166
  %330 = fcmp uno float %166, %166
  %331 = select i1 %330, float %165, float %329
  %332 = fdiv float 1.000000e+00, %331
  %333 = sub i64 %9, 0
  %334 = and i64 %333, -16
  %335 = add i64 0, %334
  br label %vector.head37

vector.head37:                                    ; preds = %endif, %block.end
  %vector39 = phi i64 [ 0, %block.end ], [ %356, %endif ]
  %336 = icmp slt i64 %vector39, %335
  br i1 %336, label %vector38, label %vector.end44

vector38:                                         ; preds = %vector.head37
  %337 = mul i64 %vector39, 1
  %338 = getelementptr float, ptr %47, i64 %337
  %339 = load <8 x float>, ptr %338, align 4
  %340 = mul i64 %vector39, 1
  %341 = getelementptr float, ptr %47, i64 %340
  %342 = getelementptr float, ptr %341, i64 8
  %343 = load <8 x float>, ptr %342, align 4
  %.splatinsert40 = insertelement <8 x float> poison, float %332, i64 0
  %.splat41 = shufflevector <8 x float> %.splatinsert40, <8 x float> poison, <8 x i32> zeroinitializer
  %344 = fmul <8 x float> %339, %.splat41
  %.splatinsert42 = insertelement <8 x float> poison, float %332, i64 0
  %.splat43 = shufflevector <8 x float> %.splatinsert42, <8 x float> poison, <8 x i32> zeroinitializer
  %345 = fmul <8 x float> %343, %.splat43
  br i1 %40, label %then, label %else

then:                                             ; preds = %vector38
  %346 = mul i64 %vector39, 1
  %347 = getelementptr float, ptr %46, i64 %346
  store <8 x float> %344, ptr %347, align 32, !nontemporal !0
  %348 = mul i64 %vector39, 1
  %349 = getelementptr float, ptr %46, i64 %348
  %350 = getelementptr float, ptr %349, i64 8
  store <8 x float> %345, ptr %350, align 32, !nontemporal !0
  br label %endif

else:                                             ; preds = %vector38
  %351 = mul i64 %vector39, 1
  %352 = getelementptr float, ptr %46, i64 %351
  store <8 x float> %344, ptr %352, align 4
  %353 = mul i64 %vector39, 1
  %354 = getelementptr float, ptr %46, i64 %353
  %355 = getelementptr float, ptr %354, i64 8
  store <8 x float> %345, ptr %355, align 4
  br label %endif

endif:                                            ; preds = %then, %else
  %356 = add i64 %vector39, 16
  br label %vector.head37

vector.end44:                                     ; preds = %vector.head37
  br label %tail.head45

tail.head45:                                      ; preds = %tail46, %vector.end44
  %tail47 = phi i64 [ %335, %vector.end44 ], [ %368, %tail46 ]
  %357 = icmp slt i64 %tail47, %9
  br i1 %357, label %tail46, label %tail.end52

tail46:                                           ; preds = %tail.head45
  %358 = sub i64 %9, %tail47
  %359 = call i64 @llvm.umin.i64(i64 %358, i64 8)
  %360 = trunc i64 %359 to i32
  %.splatinsert48 = insertelement <8 x i32> poison, i32 %360, i64 0
  %.splat49 = shufflevector <8 x i32> %.splatinsert48, <8 x i32> poison, <8 x i32> zeroinitializer
  %361 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat49
  %362 = mul i64 %tail47, 1
  %363 = getelementptr float, ptr %47, i64 %362
  %364 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %363, i32 4, <8 x i1> %361, <8 x float> zeroinitializer)
  %.splatinsert50 = insertelement <8 x float> poison, float %332, i64 0
  %.splat51 = shufflevector <8 x float> %.splatinsert50, <8 x float> poison, <8 x i32> zeroinitializer
  %365 = fmul <8 x float> %364, %.splat51
  %366 = mul i64 %tail47, 1
  %367 = getelementptr float, ptr %46, i64 %366
  call void @llvm.masked.store.v8f32.p0(<8 x float> %365, ptr %367, i32 4, <8 x i1> %361)
  %368 = add i64 %tail47, 8
  br label %tail.head45

tail.end52:                                       ; preds = %tail.head45
  %369 = add i64 %41, 1
  %370 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %40, label %then53, label %endif54

then53:                                           ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif54

endif54:                                          ; preds = %task.end, %then53
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smax.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.roundeven.v8f32(<8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite)
declare void @llvm.prefetch.p0(ptr nocapture readonly, i32 immarg, i32 immarg, i32 immarg) #3

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #4

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite) }
attributes #4 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
