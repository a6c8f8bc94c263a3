; weights that are widened before a product are read as they are stored

; == full
; loop [p0] kept 1 vector 0
;   buffer b0 f32 written
;   access a0 b0 + 0 [0]
;   %0 f32 = const 1 #3ff0000000000000
;   %1 f32 = store a0 %0
; p0 is 1
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
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = mul i64 1, %6
  %10 = add i64 %6, 4095
  %11 = lshr i64 %10, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %36, %tail.end ]
  %12 = phi i64 [ %2, %work ], [ %35, %tail.end ]
  %13 = icmp slt i64 %task1, %3
  br i1 %13, label %task, label %task.end

task:                                             ; preds = %task.head
  %14 = mul i64 %12, 4096
  %15 = add i64 %14, 4096
  %16 = call i64 @llvm.smin.i64(i64 %15, i64 %6)
  %17 = sub i64 %16, %14
  %18 = and i64 %17, -32
  %19 = add i64 %14, %18
  %20 = sub i64 %16, %14
  %21 = and i64 %20, -64
  %22 = add i64 %14, %21
  %23 = icmp slt i64 %14, %22
  br i1 %23, label %vectors, label %vectors.end

vectors:                                          ; preds = %vectors, %task
  %vectors2 = phi i64 [ %14, %task ], [ %24, %vectors ]
  store float 1.000000e+00, ptr %8, align 4
  %24 = add i64 %vectors2, 64
  %25 = icmp slt i64 %24, %22
  br i1 %25, label %vectors, label %vectors.end

vectors.end:                                      ; preds = %vectors, %task
  %26 = icmp slt i64 %22, %19
  br i1 %26, label %vector, label %vector.end

vector:                                           ; preds = %vector, %vectors.end
  %vector3 = phi i64 [ %22, %vectors.end ], [ %27, %vector ]
  store float 1.000000e+00, ptr %8, align 4
  %27 = add i64 %vector3, 32
  %28 = icmp slt i64 %27, %19
  br i1 %28, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %vectors.end
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail4 = phi i64 [ %19, %vector.end ], [ %34, %tail ]
  %29 = icmp slt i64 %tail4, %16
  br i1 %29, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %30 = sub i64 %16, %tail4
  %31 = call i64 @llvm.umin.i64(i64 %30, i64 8)
  %32 = trunc i64 %31 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %32, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %33 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  store float 1.000000e+00, ptr %8, align 4
  %34 = add i64 %tail4, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %35 = add i64 %12, 1
  %36 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

; == relu
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = const 0 #0000000000000000
;   %2 f32 = op Max %0 %1
;   %3 f32 = store a1 %2
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
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = mul i64 1, %6
  %12 = icmp sge i64 %11, 8388608
  %13 = ptrtoint ptr %10 to i64
  %14 = or i64 0, %13
  %15 = and i64 %14, 63
  %16 = icmp eq i64 %15, 0
  %17 = and i1 %12, %16
  %18 = add i64 %6, 4095
  %19 = lshr i64 %18, 12
  br label %task.head

done:                                             ; preds = %endif12, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %268, %tail.end ]
  %20 = phi i64 [ %2, %work ], [ %267, %tail.end ]
  %21 = icmp slt i64 %task1, %3
  br i1 %21, label %task, label %task.end

task:                                             ; preds = %task.head
  %22 = mul i64 %20, 4096
  %23 = add i64 %22, 4096
  %24 = call i64 @llvm.smin.i64(i64 %23, i64 %6)
  %25 = sub i64 %24, %22
  %26 = and i64 %25, -32
  %27 = add i64 %22, %26
  br i1 %17, label %then, label %else

then:                                             ; preds = %task
  %28 = sub i64 %24, %22
  %29 = and i64 %28, -64
  %30 = add i64 %22, %29
  %31 = icmp slt i64 %22, %30
  br i1 %31, label %vectors, label %vectors.end

vectors:                                          ; preds = %vectors, %then
  %vectors2 = phi i64 [ %22, %then ], [ %102, %vectors ]
  %32 = getelementptr float, ptr %8, i64 %vectors2
  %33 = load <8 x float>, ptr %32, align 4
  %34 = getelementptr float, ptr %8, i64 %vectors2
  %35 = getelementptr float, ptr %34, i64 8
  %36 = load <8 x float>, ptr %35, align 4
  %37 = getelementptr float, ptr %8, i64 %vectors2
  %38 = getelementptr float, ptr %37, i64 16
  %39 = load <8 x float>, ptr %38, align 4
  %40 = getelementptr float, ptr %8, i64 %vectors2
  %41 = getelementptr float, ptr %40, i64 24
  %42 = load <8 x float>, ptr %41, align 4
  %43 = getelementptr float, ptr %8, i64 %vectors2
  %44 = getelementptr float, ptr %43, i64 32
  %45 = load <8 x float>, ptr %44, align 4
  %46 = getelementptr float, ptr %8, i64 %vectors2
  %47 = getelementptr float, ptr %46, i64 40
  %48 = load <8 x float>, ptr %47, align 4
  %49 = getelementptr float, ptr %8, i64 %vectors2
  %50 = getelementptr float, ptr %49, i64 48
  %51 = load <8 x float>, ptr %50, align 4
  %52 = getelementptr float, ptr %8, i64 %vectors2
  %53 = getelementptr float, ptr %52, i64 56
  %54 = load <8 x float>, ptr %53, align 4
  %55 = fcmp ogt <8 x float> %33, zeroinitializer
  %56 = select <8 x i1> %55, <8 x float> %33, <8 x float> zeroinitializer
  %57 = fcmp uno <8 x float> %33, %33
  %58 = select <8 x i1> %57, <8 x float> %33, <8 x float> %56
  %59 = fcmp ogt <8 x float> %36, zeroinitializer
  %60 = select <8 x i1> %59, <8 x float> %36, <8 x float> zeroinitializer
  %61 = fcmp uno <8 x float> %36, %36
  %62 = select <8 x i1> %61, <8 x float> %36, <8 x float> %60
  %63 = fcmp ogt <8 x float> %39, zeroinitializer
  %64 = select <8 x i1> %63, <8 x float> %39, <8 x float> zeroinitializer
  %65 = fcmp uno <8 x float> %39, %39
  %66 = select <8 x i1> %65, <8 x float> %39, <8 x float> %64
  %67 = fcmp ogt <8 x float> %42, zeroinitializer
  %68 = select <8 x i1> %67, <8 x float> %42, <8 x float> zeroinitializer
  %69 = fcmp uno <8 x float> %42, %42
  %70 = select <8 x i1> %69, <8 x float> %42, <8 x float> %68
  %71 = fcmp ogt <8 x float> %45, zeroinitializer
  %72 = select <8 x i1> %71, <8 x float> %45, <8 x float> zeroinitializer
  %73 = fcmp uno <8 x float> %45, %45
  %74 = select <8 x i1> %73, <8 x float> %45, <8 x float> %72
  %75 = fcmp ogt <8 x float> %48, zeroinitializer
  %76 = select <8 x i1> %75, <8 x float> %48, <8 x float> zeroinitializer
  %77 = fcmp uno <8 x float> %48, %48
  %78 = select <8 x i1> %77, <8 x float> %48, <8 x float> %76
  %79 = fcmp ogt <8 x float> %51, zeroinitializer
  %80 = select <8 x i1> %79, <8 x float> %51, <8 x float> zeroinitializer
  %81 = fcmp uno <8 x float> %51, %51
  %82 = select <8 x i1> %81, <8 x float> %51, <8 x float> %80
  %83 = fcmp ogt <8 x float> %54, zeroinitializer
  %84 = select <8 x i1> %83, <8 x float> %54, <8 x float> zeroinitializer
  %85 = fcmp uno <8 x float> %54, %54
  %86 = select <8 x i1> %85, <8 x float> %54, <8 x float> %84
  %87 = getelementptr float, ptr %10, i64 %vectors2
  store <8 x float> %58, ptr %87, align 32, !nontemporal !0
  %88 = getelementptr float, ptr %10, i64 %vectors2
  %89 = getelementptr float, ptr %88, i64 8
  store <8 x float> %62, ptr %89, align 32, !nontemporal !0
  %90 = getelementptr float, ptr %10, i64 %vectors2
  %91 = getelementptr float, ptr %90, i64 16
  store <8 x float> %66, ptr %91, align 32, !nontemporal !0
  %92 = getelementptr float, ptr %10, i64 %vectors2
  %93 = getelementptr float, ptr %92, i64 24
  store <8 x float> %70, ptr %93, align 32, !nontemporal !0
  %94 = getelementptr float, ptr %10, i64 %vectors2
  %95 = getelementptr float, ptr %94, i64 32
  store <8 x float> %74, ptr %95, align 32, !nontemporal !0
  %96 = getelementptr float, ptr %10, i64 %vectors2
  %97 = getelementptr float, ptr %96, i64 40
  store <8 x float> %78, ptr %97, align 32, !nontemporal !0
  %98 = getelementptr float, ptr %10, i64 %vectors2
  %99 = getelementptr float, ptr %98, i64 48
  store <8 x float> %82, ptr %99, align 32, !nontemporal !0
  %100 = getelementptr float, ptr %10, i64 %vectors2
  %101 = getelementptr float, ptr %100, i64 56
  store <8 x float> %86, ptr %101, align 32, !nontemporal !0
  %102 = add i64 %vectors2, 64
  %103 = icmp slt i64 %102, %30
  br i1 %103, label %vectors, label %vectors.end

vectors.end:                                      ; preds = %vectors, %then
  %104 = icmp slt i64 %30, %27
  br i1 %104, label %vector, label %vector.end

vector:                                           ; preds = %vector, %vectors.end
  %vector3 = phi i64 [ %30, %vectors.end ], [ %139, %vector ]
  %105 = getelementptr float, ptr %8, i64 %vector3
  %106 = load <8 x float>, ptr %105, align 4
  %107 = getelementptr float, ptr %8, i64 %vector3
  %108 = getelementptr float, ptr %107, i64 8
  %109 = load <8 x float>, ptr %108, align 4
  %110 = getelementptr float, ptr %8, i64 %vector3
  %111 = getelementptr float, ptr %110, i64 16
  %112 = load <8 x float>, ptr %111, align 4
  %113 = getelementptr float, ptr %8, i64 %vector3
  %114 = getelementptr float, ptr %113, i64 24
  %115 = load <8 x float>, ptr %114, align 4
  %116 = fcmp ogt <8 x float> %106, zeroinitializer
  %117 = select <8 x i1> %116, <8 x float> %106, <8 x float> zeroinitializer
  %118 = fcmp uno <8 x float> %106, %106
  %119 = select <8 x i1> %118, <8 x float> %106, <8 x float> %117
  %120 = fcmp ogt <8 x float> %109, zeroinitializer
  %121 = select <8 x i1> %120, <8 x float> %109, <8 x float> zeroinitializer
  %122 = fcmp uno <8 x float> %109, %109
  %123 = select <8 x i1> %122, <8 x float> %109, <8 x float> %121
  %124 = fcmp ogt <8 x float> %112, zeroinitializer
  %125 = select <8 x i1> %124, <8 x float> %112, <8 x float> zeroinitializer
  %126 = fcmp uno <8 x float> %112, %112
  %127 = select <8 x i1> %126, <8 x float> %112, <8 x float> %125
  %128 = fcmp ogt <8 x float> %115, zeroinitializer
  %129 = select <8 x i1> %128, <8 x float> %115, <8 x float> zeroinitializer
  %130 = fcmp uno <8 x float> %115, %115
  %131 = select <8 x i1> %130, <8 x float> %115, <8 x float> %129
  %132 = getelementptr float, ptr %10, i64 %vector3
  store <8 x float> %119, ptr %132, align 32, !nontemporal !0
  %133 = getelementptr float, ptr %10, i64 %vector3
  %134 = getelementptr float, ptr %133, i64 8
  store <8 x float> %123, ptr %134, align 32, !nontemporal !0
  %135 = getelementptr float, ptr %10, i64 %vector3
  %136 = getelementptr float, ptr %135, i64 16
  store <8 x float> %127, ptr %136, align 32, !nontemporal !0
  %137 = getelementptr float, ptr %10, i64 %vector3
  %138 = getelementptr float, ptr %137, i64 24
  store <8 x float> %131, ptr %138, align 32, !nontemporal !0
  %139 = add i64 %vector3, 32
  %140 = icmp slt i64 %139, %27
  br i1 %140, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %vectors.end
  br label %endif

else:                                             ; preds = %task
  %141 = sub i64 %24, %22
  %142 = and i64 %141, -64
  %143 = add i64 %22, %142
  %144 = icmp slt i64 %22, %143
  br i1 %144, label %vectors4, label %vectors.end6

vectors4:                                         ; preds = %vectors4, %else
  %vectors5 = phi i64 [ %22, %else ], [ %215, %vectors4 ]
  %145 = getelementptr float, ptr %8, i64 %vectors5
  %146 = load <8 x float>, ptr %145, align 4
  %147 = getelementptr float, ptr %8, i64 %vectors5
  %148 = getelementptr float, ptr %147, i64 8
  %149 = load <8 x float>, ptr %148, align 4
  %150 = getelementptr float, ptr %8, i64 %vectors5
  %151 = getelementptr float, ptr %150, i64 16
  %152 = load <8 x float>, ptr %151, align 4
  %153 = getelementptr float, ptr %8, i64 %vectors5
  %154 = getelementptr float, ptr %153, i64 24
  %155 = load <8 x float>, ptr %154, align 4
  %156 = getelementptr float, ptr %8, i64 %vectors5
  %157 = getelementptr float, ptr %156, i64 32
  %158 = load <8 x float>, ptr %157, align 4
  %159 = getelementptr float, ptr %8, i64 %vectors5
  %160 = getelementptr float, ptr %159, i64 40
  %161 = load <8 x float>, ptr %160, align 4
  %162 = getelementptr float, ptr %8, i64 %vectors5
  %163 = getelementptr float, ptr %162, i64 48
  %164 = load <8 x float>, ptr %163, align 4
  %165 = getelementptr float, ptr %8, i64 %vectors5
  %166 = getelementptr float, ptr %165, i64 56
  %167 = load <8 x float>, ptr %166, align 4
  %168 = fcmp ogt <8 x float> %146, zeroinitializer
  %169 = select <8 x i1> %168, <8 x float> %146, <8 x float> zeroinitializer
  %170 = fcmp uno <8 x float> %146, %146
  %171 = select <8 x i1> %170, <8 x float> %146, <8 x float> %169
  %172 = fcmp ogt <8 x float> %149, zeroinitializer
  %173 = select <8 x i1> %172, <8 x float> %149, <8 x float> zeroinitializer
  %174 = fcmp uno <8 x float> %149, %149
  %175 = select <8 x i1> %174, <8 x float> %149, <8 x float> %173
  %176 = fcmp ogt <8 x float> %152, zeroinitializer
  %177 = select <8 x i1> %176, <8 x float> %152, <8 x float> zeroinitializer
  %178 = fcmp uno <8 x float> %152, %152
  %179 = select <8 x i1> %178, <8 x float> %152, <8 x float> %177
  %180 = fcmp ogt <8 x float> %155, zeroinitializer
  %181 = select <8 x i1> %180, <8 x float> %155, <8 x float> zeroinitializer
  %182 = fcmp uno <8 x float> %155, %155
  %183 = select <8 x i1> %182, <8 x float> %155, <8 x float> %181
  %184 = fcmp ogt <8 x float> %158, zeroinitializer
  %185 = select <8 x i1> %184, <8 x float> %158, <8 x float> zeroinitializer
  %186 = fcmp uno <8 x float> %158, %158
  %187 = select <8 x i1> %186, <8 x float> %158, <8 x float> %185
  %188 = fcmp ogt <8 x float> %161, zeroinitializer
  %189 = select <8 x i1> %188, <8 x float> %161, <8 x float> zeroinitializer
  %190 = fcmp uno <8 x float> %161, %161
  %191 = select <8 x i1> %190, <8 x float> %161, <8 x float> %189
  %192 = fcmp ogt <8 x float> %164, zeroinitializer
  %193 = select <8 x i1> %192, <8 x float> %164, <8 x float> zeroinitializer
  %194 = fcmp uno <8 x float> %164, %164
  %195 = select <8 x i1> %194, <8 x float> %164, <8 x float> %193
  %196 = fcmp ogt <8 x float> %167, zeroinitializer
  %197 = select <8 x i1> %196, <8 x float> %167, <8 x float> zeroinitializer
  %198 = fcmp uno <8 x float> %167, %167
  %199 = select <8 x i1> %198, <8 x float> %167, <8 x float> %197
  %200 = getelementptr float, ptr %10, i64 %vectors5
  store <8 x float> %171, ptr %200, align 4
  %201 = getelementptr float, ptr %10, i64 %vectors5
  %202 = getelementptr float, ptr %201, i64 8
  store <8 x float> %175, ptr %202, align 4
  %203 = getelementptr float, ptr %10, i64 %vectors5
  %204 = getelementptr float, ptr %203, i64 16
  store <8 x float> %179, ptr %204, align 4
  %205 = getelementptr float, ptr %10, i64 %vectors5
  %206 = getelementptr float, ptr %205, i64 24
  store <8 x float> %183, ptr %206, align 4
  %207 = getelementptr float, ptr %10, i64 %vectors5
  %208 = getelementptr float, ptr %207, i64 32
  store <8 x float> %187, ptr %208, align 4
  %209 = getelementptr float, ptr %10, i64 %vectors5
  %210 = getelementptr float, ptr %209, i64 40
  store <8 x float> %191, ptr %210, align 4
  %211 = getelementptr float, ptr %10, i64 %vectors5
  %212 = getelementptr float, ptr %211, i64 48
  store <8 x float> %195, ptr %212, align 4
  %213 = getelementptr float, ptr %10, i64 %vectors5
  %214 = getelementptr float, ptr %213, i64 56
  store <8 x float> %199, ptr %214, align 4
  %215 = add i64 %vectors5, 64
  %216 = icmp slt i64 %215, %143
  br i1 %216, label %vectors4, label %vectors.end6

vectors.end6:                                     ; preds = %vectors4, %else
  %217 = icmp slt i64 %143, %27
  br i1 %217, label %vector7, label %vector.end9

vector7:                                          ; preds = %vector7, %vectors.end6
  %vector8 = phi i64 [ %143, %vectors.end6 ], [ %252, %vector7 ]
  %218 = getelementptr float, ptr %8, i64 %vector8
  %219 = load <8 x float>, ptr %218, align 4
  %220 = getelementptr float, ptr %8, i64 %vector8
  %221 = getelementptr float, ptr %220, i64 8
  %222 = load <8 x float>, ptr %221, align 4
  %223 = getelementptr float, ptr %8, i64 %vector8
  %224 = getelementptr float, ptr %223, i64 16
  %225 = load <8 x float>, ptr %224, align 4
  %226 = getelementptr float, ptr %8, i64 %vector8
  %227 = getelementptr float, ptr %226, i64 24
  %228 = load <8 x float>, ptr %227, align 4
  %229 = fcmp ogt <8 x float> %219, zeroinitializer
  %230 = select <8 x i1> %229, <8 x float> %219, <8 x float> zeroinitializer
  %231 = fcmp uno <8 x float> %219, %219
  %232 = select <8 x i1> %231, <8 x float> %219, <8 x float> %230
  %233 = fcmp ogt <8 x float> %222, zeroinitializer
  %234 = select <8 x i1> %233, <8 x float> %222, <8 x float> zeroinitializer
  %235 = fcmp uno <8 x float> %222, %222
  %236 = select <8 x i1> %235, <8 x float> %222, <8 x float> %234
  %237 = fcmp ogt <8 x float> %225, zeroinitializer
  %238 = select <8 x i1> %237, <8 x float> %225, <8 x float> zeroinitializer
  %239 = fcmp uno <8 x float> %225, %225
  %240 = select <8 x i1> %239, <8 x float> %225, <8 x float> %238
  %241 = fcmp ogt <8 x float> %228, zeroinitializer
  %242 = select <8 x i1> %241, <8 x float> %228, <8 x float> zeroinitializer
  %243 = fcmp uno <8 x float> %228, %228
  %244 = select <8 x i1> %243, <8 x float> %228, <8 x float> %242
  %245 = getelementptr float, ptr %10, i64 %vector8
  store <8 x float> %232, ptr %245, align 4
  %246 = getelementptr float, ptr %10, i64 %vector8
  %247 = getelementptr float, ptr %246, i64 8
  store <8 x float> %236, ptr %247, align 4
  %248 = getelementptr float, ptr %10, i64 %vector8
  %249 = getelementptr float, ptr %248, i64 16
  store <8 x float> %240, ptr %249, align 4
  %250 = getelementptr float, ptr %10, i64 %vector8
  %251 = getelementptr float, ptr %250, i64 24
  store <8 x float> %244, ptr %251, align 4
  %252 = add i64 %vector8, 32
  %253 = icmp slt i64 %252, %27
  br i1 %253, label %vector7, label %vector.end9

vector.end9:                                      ; preds = %vector7, %vectors.end6
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end9
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail10 = phi i64 [ %27, %endif ], [ %266, %tail ]
  %254 = icmp slt i64 %tail10, %24
  br i1 %254, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %255 = sub i64 %24, %tail10
  %256 = call i64 @llvm.umin.i64(i64 %255, i64 8)
  %257 = trunc i64 %256 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %257, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %258 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %259 = getelementptr float, ptr %8, i64 %tail10
  %260 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %259, i32 4, <8 x i1> %258, <8 x float> zeroinitializer)
  %261 = fcmp ogt <8 x float> %260, zeroinitializer
  %262 = select <8 x i1> %261, <8 x float> %260, <8 x float> zeroinitializer
  %263 = fcmp uno <8 x float> %260, %260
  %264 = select <8 x i1> %263, <8 x float> %260, <8 x float> %262
  %265 = getelementptr float, ptr %10, i64 %tail10
  call void @llvm.masked.store.v8f32.p0(<8 x float> %264, ptr %265, i32 4, <8 x i1> %258)
  %266 = add i64 %tail10, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %267 = add i64 %20, 1
  %268 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %17, label %then11, label %endif12

then11:                                           ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif12

endif12:                                          ; preds = %task.end, %then11
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
